// SPDX-License-Identifier: Apache-2.0
#include "fit/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fit/cuda.h"

namespace longship::fit {
namespace {

using testing::HasSubstr;

const HostFacts rhel8 = {"x86_64", Version(4, 18)};

Finding about(const std::vector<Finding>& findings, std::string_view what) {
  for (const auto& finding : findings)
    if (finding.about == what) return finding;
  ADD_FAILURE() << "nothing is said about " << what;
  return {};
}

TEST(FitTest, AnOrdinaryImageFitsAnOrdinaryHost) {
  const auto findings = verdict({"amd64", Version(2, 36), Version(3, 2)}, rhel8);
  EXPECT_EQ(findings.size(), 3u);
  EXPECT_EQ(worst(findings), Fit::good);
  for (const auto& finding : findings) EXPECT_EQ(finding.remedy, "") << finding.about;
}

TEST(FitTest, AnotherArchitectureCannotStart) {
  const auto findings = verdict({"arm64", Version(2, 36), Version(3, 7)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::none);
  const auto finding = about(findings, "architecture");
  EXPECT_EQ(finding.reason, "the image is for aarch64, this machine is x86_64");
  EXPECT_THAT(finding.remedy, HasSubstr("x86_64"));
}

TEST(FitTest, AKernelTooOldForTheImageIsNamed) {
  const auto findings = verdict({"x86_64", Version(2, 40), Version(5, 4)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::none);
  EXPECT_THAT(about(findings, "kernel").reason, HasSubstr("before Linux 5.4, this machine has 4.18"));
}

TEST(FitTest, AnOldGlibcRunsProgramsButNotOurLibrary) {
  const auto findings = verdict({"x86_64", Version(2, 17), Version(2, 6, 32)}, rhel8);
  EXPECT_EQ(worst(findings), Fit::limited);
  EXPECT_THAT(about(findings, "C library").reason,
              HasSubstr("glibc 2.17: programs run, but \"import longship\" does not"));
}

TEST(FitTest, GlibcExactlyAsNeededIsEnough) {
  EXPECT_EQ(about(verdict({"x86_64", longship_needs_glibc, {}}, rhel8), "C library").fit, Fit::good);
}

TEST(FitTest, AnImageWithoutGlibcIsLimited) {
  const auto findings = verdict({"x86_64", {}, {}}, rhel8);
  EXPECT_EQ(worst(findings), Fit::limited);
  EXPECT_THAT(about(findings, "C library").remedy, HasSubstr("glibc 2.28"));
}

TEST(FitTest, WhatIsNotKnownIsNotJudged) {
  const auto findings = verdict({"", Version(2, 31), {}}, rhel8);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].about, "C library");
}

Finding about_mpi(const std::string& image, const std::string& host, std::vector<std::string> pmi) {
  ImageFacts facts{"x86_64", Version(2, 36), {}};
  facts.mpi = image;
  return about(verdict(facts, {"x86_64", Version(5, 14), host, std::move(pmi)}, true), "MPI");
}

TEST(FitTest, AnMpiJobNeedsAnImageOfTheSitesFamily) {
  EXPECT_EQ(about_mpi("openmpi 4.1.4", "openmpi 5.0", {"none", "pmix", "pmix_v4"}).fit, Fit::good);
  const auto wrong = about_mpi("openmpi 4.1.4", "mpich 4.0.2", {});
  EXPECT_EQ(wrong.fit, Fit::none);
  EXPECT_EQ(wrong.reason, "the image has Open MPI, the MPI of the site is MPICH");
  EXPECT_EQ(wrong.remedy, "build a variant of the image with MPICH");
}

TEST(FitTest, AnMpiJobNeedsALauncherThatSpeaksItsLanguage) {
  EXPECT_EQ(about_mpi("openmpi 4.1.4", "", {"pmix_v4"}).fit, Fit::good);
  EXPECT_EQ(about_mpi("mpich 4.0.2", "", {"none", "pmi2"}).fit, Fit::good);
  const auto wrong = about_mpi("openmpi 4.1.4", "", {"none", "pmi2"});
  EXPECT_EQ(wrong.fit, Fit::none);
  EXPECT_THAT(wrong.reason,
              HasSubstr("needs a launcher that speaks pmix, and the one of the site offers none, pmi2"));
  EXPECT_THAT(wrong.remedy, HasSubstr("with MPICH"));
  EXPECT_THAT(about_mpi("mpich", "", {"none"}).remedy, HasSubstr("pmi2 plugin"));
}

TEST(FitTest, AnMpiJobWithoutKnownHostOrImageIsGivenTheBenefitOfTheDoubt) {
  EXPECT_EQ(about_mpi("mpich 4.0.2", "", {}).fit, Fit::good);
  EXPECT_EQ(about_mpi("", "mpich", {"pmi2"}).fit, Fit::limited);
}

TEST(FitTest, APmixThatSpeaksOnlyToItselfIsNamed) {
  ImageFacts image{"x86_64", Version(2, 36), {}};
  image.mpi = "openmpi 3.0.1";
  image.pmix = Version(2, 0, 1);
  HostFacts host{"x86_64", Version(5, 14)};
  host.pmi = {"none", "pmix", "pmix_v4"};
  const auto wrong = about(verdict(image, host, true), "PMIx");
  EXPECT_EQ(wrong.fit, Fit::none);
  EXPECT_EQ(wrong.reason, "the image has PMIx 2.0.1, which does not speak to the launcher's PMIx 4");
  EXPECT_THAT(wrong.remedy, HasSubstr("2.1.1"));
  for (const auto& client : {Version(1, 2, 5), Version(2, 0, 3), Version(3, 1, 5), Version(5, 0)}) {
    image.pmix = client;
    EXPECT_EQ(about(verdict(image, host, true), "PMIx").fit, Fit::good) << client.text();
  }
  host.pmi = {"pmix", "pmix_v1"};
  EXPECT_EQ(about(verdict(image, host, true), "PMIx").fit, Fit::none);  // no server speaks to newer clients
  host.pmi = {"pmix"};                                                  // it does not tell which
  EXPECT_EQ(about(verdict(image, host, true), "PMIx").fit, Fit::good);
}

TEST(FitTest, AHostMpiThatWantsANewerGlibcIsNamedWithTheSymbol) {
  ImageFacts image{"x86_64", Version(2, 31), {}};
  image.mpi = "mpich 3.4.1";
  HostFacts host{"x86_64", Version(5, 14), "mpich 4.0.2"};
  host.mpi_glibc = Version(2, 34);
  auto wrong = about(verdict(image, host, true), "host MPI");
  EXPECT_EQ(wrong.fit, Fit::limited);  // the image's own MPI still works
  EXPECT_THAT(wrong.reason, HasSubstr("it wants GLIBC_2.34, the image has glibc 2.31"));
  host.lets_mpi_in = true;
  EXPECT_EQ(about(verdict(image, host, true), "host MPI").fit, Fit::none);
  image.glibc = Version(2, 34);
  EXPECT_EQ(about(verdict(image, host, true), "host MPI").fit, Fit::good);
}

TEST(FitTest, ADriverHasToBeNewEnoughForTheCudaOfTheImage) {
  ImageFacts image{"x86_64", Version(2, 36), {}};
  HostFacts host{"x86_64", Version(5, 14)};
  const auto judged = [&](Version cuda, Version driver) {
    image.cuda = std::move(cuda);
    host.driver = std::move(driver);
    return about(verdict(image, host), "CUDA");
  };
  EXPECT_EQ(judged(Version(11, 8, 89), Version(520, 61, 5)).fit, Fit::good);
  EXPECT_EQ(judged(Version(10, 2), Version(535, 104, 5)).fit, Fit::good);
  EXPECT_EQ(judged(Version(14, 1), Version(999, 0)).fit, Fit::good);  // newer than the table
  const auto old = judged(Version(12, 1), Version(470, 42, 1));
  EXPECT_EQ(old.fit, Fit::none);
  EXPECT_EQ(old.reason, "the image has CUDA 12.1, and driver 470.42.1 runs only CUDA up to 11.4");
  EXPECT_EQ(old.remedy, "ask for driver 530.30.2 or newer, or build a variant of the image with CUDA 11.4");
  EXPECT_EQ(judged(Version(11, 8), Version(470, 42, 1)).fit, Fit::limited);
  EXPECT_EQ(judged(Version(10, 2), Version(410, 48)).fit, Fit::none);  // before 11 also minors count
  EXPECT_EQ(judged(Version(9, 0), Version(340, 0)).fit, Fit::none);
}

TEST(FitTest, TheDriverIsNamedInItsOwnFile) {
  EXPECT_EQ(
      driver_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC\nGCC"),
      Version(535, 104, 5));
  EXPECT_FALSE(driver_in("GCC version: 12.2.0"));
  EXPECT_FALSE(driver_in(""));
}

TEST(FitTest, TheWordsOfARecordBecomeFacts) {
  const auto facts =
      image_facts("x86_64", "glibc 2.36", "openmpi 4.1.4",
                  Software{{"libstdc++", "3.4.30"}, {"mpi-abi", "libmpi.so.40"}, {"cuda", "12"}});
  EXPECT_EQ(facts.glibc, Version(2, 36));
  EXPECT_EQ(facts.libstdcxx, Version(3, 4, 30));
  EXPECT_EQ(facts.mpi_abi, "libmpi.so.40");
  EXPECT_EQ(facts.cuda, Version(12, 0));
  EXPECT_TRUE(facts.looked_for_software);
  EXPECT_FALSE(image_facts("x86_64", "musl", "", {}).looked_for_software);
  EXPECT_FALSE(image_facts("x86_64", "musl", "", {}).glibc);
}

TEST(FitTest, ImagesAndKernelsUseDifferentWordsForOneArchitecture) {
  EXPECT_EQ(kernel_architecture("amd64"), "x86_64");
  EXPECT_EQ(kernel_architecture("arm64"), "aarch64");
  EXPECT_EQ(kernel_architecture("ppc64le"), "ppc64le");
}

}  // namespace
}  // namespace longship::fit
